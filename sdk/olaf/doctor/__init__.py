"""From a worker's host: does a frame reach the engine, is it known there, does it come back?"""
