"""One worker of a crew: ``python -m holdfast.testing.workload``, with its orders on stdin."""

from holdfast.testing.workload.worker import main

if __name__ == "__main__":
    main()
