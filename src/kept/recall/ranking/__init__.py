"""Recall: what a question asks for, and in which order what was found answers it. Pure; knows neither index nor model."""
