-- What is told of single events is derived of the blocks, on each machine.
DROP TABLE kept.events;
DROP TABLE kept.likenesses;
