"""What was measured or published: metrics, what benchmarks print, references; and their files."""
