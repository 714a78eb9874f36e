import TestSupport

/// Calls a mount's daemon from a client that checks nothing beforehand. Returns the daemon's answer as JSON.
///
/// - Parameters:
///   - parameters: as JSON.
///   - secrets: handed over as descriptors, in this order.
func bareCall(_ method: String, _ parameters: String, secrets: [String], of mount: MountedVault) throws -> String {
    let status = try mount.vault.latchkey(["status", "--json", mount.path]).succeeded().text
    return try run("python3", ["-c", client, status, method, parameters] + secrets).succeeded().text
}

private let client = """
    import json, os, socket, sys
    status, method, parameters, *secrets = sys.argv[1:]
    folder = "/run/latchkey" if os.geteuid() == 0 else "/tmp/latchkey-%d" % os.geteuid()
    pipes = []
    for secret in secrets:
        reading, writing = os.pipe()
        os.write(writing, secret.encode())
        os.close(writing)
        pipes.append(reading)
    daemon = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    daemon.settimeout(30)
    daemon.connect(folder + "/" + json.loads(status)["volume"] + ".socket")
    call = {"method": "io.latchkey." + method, "parameters": json.loads(parameters)}
    socket.send_fds(daemon, [json.dumps(call).encode() + b"\\0"], pipes)
    answer = b""
    while not answer.endswith(b"\\0"):
        some = daemon.recv(65536)
        assert some, answer
        answer += some
    print(answer[:-1].decode())
    """
