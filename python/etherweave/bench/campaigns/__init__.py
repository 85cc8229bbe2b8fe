"""Campaigns: their launches and decisions, the store on disk, points, summaries, comparisons."""
