/// Starts a foreign server on a free port of 127.0.0.1 and waits until it accepts connections. Another
/// process may take the port first; then the server ends, and the next port is tried.
func startPeer(
    _ name: String, log: String, _ arguments: (_ port: Int) throws -> [String]
) async throws -> (port: Int, process: ChildProcess) {
    var attempts = 0
    while true {
        attempts += 1
        let port = try freePort()
        let process = try ChildProcess(try arguments(port), log: "\(log)-\(attempts)")
        do {
            try await until("\(name) on port \(port)") {
                if let ending = process.ending { throw Missed("\(name) ended with \(ending): \(process.errors)") }
                return isListening(port)
            }
            return (port, process)
        } catch  where attempts < 5 && process.ending != nil {
            continue
        } catch {
            await process.finish()
            throw error
        }
    }
}
