#: sdk/README.md: python -m olaf.doctor.measure
