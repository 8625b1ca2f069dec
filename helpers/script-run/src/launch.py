def _start():
    import sys

    path, descriptor = sys.argv[1], int(sys.argv[2])
    with open(descriptor, "rb") as file:
        source = file.read()

    def show(kind, error, trace):
        while trace is not None and trace.tb_frame.f_code.co_filename == "<string>":
            trace = trace.tb_next
        error.__traceback__ = trace
        sys.__excepthook__(kind, error, trace)

    sys.excepthook = show
    sys.argv[:] = [path]
    sys.path[0] = path.rpartition("/")[0]
    world = globals()
    del world["_start"]
    world["__file__"] = path
    exec(compile(source, path, "exec", dont_inherit=True), world)


_start()
