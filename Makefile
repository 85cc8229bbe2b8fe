.DEFAULT_GOAL := help

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile

test: ## run every test
	cargo test --workspace

.PHONY: help test
