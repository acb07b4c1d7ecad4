/// A server that a test starts and must stop.
package protocol StoppableServer: Sendable {
    func stop() async
}

extension ScriptedServer: StoppableServer {}
extension NginxServer: StoppableServer {}
extension ApacheServer: StoppableServer {}
extension TusServer: StoppableServer {}

/// Runs `body` and then stops the servers in their order, even if `body` throws.
package func stopping(_ servers: any StoppableServer..., after body: () async throws -> Void) async throws {
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    for server in servers { await server.stop() }
    try result.get()
}
