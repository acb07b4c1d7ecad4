import Commands
import Foundation
import HTTPClient
import Operations
import TestSupport
import Testing
import Work

/// How an execution ended.
enum Outcome: CustomStringConvertible {
    case success(JSONValue)
    case failure(CommandFailure)

    var failure: CommandFailure? { if case .failure(let failure) = self { failure } else { nil } }
    var result: JSONValue? { if case .success(let result) = self { result } else { nil } }

    var description: String {
        switch self {
        case .success(let result): "success \(result.text)"
        case .failure(let failure): "\(failure.fault): \(failure.reason)"
        }
    }
}

extension JSONValue {
    var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension UploadHarness {
    /// Executes to the end, which must come in time.
    /// - Parameter limit: after it the execution is cancelled.
    /// - Throws: ``Missed`` where the end has not come.
    func outcome(
        file: String, to url: String, method: String = "PUT", id: CommandID = CommandID(),
        within limit: Duration = .seconds(45)
    ) async throws -> Outcome {
        let extra: [JSONValue.Member] = [.init("method", .string(method))]
        let (execution, _) = try execution(file: file, to: url, extra: extra, id: id)
        return try await outcome(of: execution, within: limit)
    }

    func outcome(of execution: CommandExecution, within limit: Duration = .seconds(45)) async throws -> Outcome {
        let work = Task { try await run(execution) }
        let limiter = Task {
            // Cancelled as soon as the execution has ended.
            guard (try? await Task.sleep(for: limit)) != nil else { return false }
            work.cancel()
            return true
        }
        let result = await work.result
        limiter.cancel()
        // What a cancellation brings about is not an end in time.
        if await limiter.value { throw Missed("the execution had not ended after \(limit)") }
        do {
            return .success(try result.get())
        } catch let failure as CommandFailure {
            return .failure(failure)
        }
    }
}

/// Runs a test against a server that follows a script, and clears both away.
/// - Parameters:
///   - options: of the server.
///   - roots: PEM of certificates that the client trusts besides the system's.
///   - token: is shown to the server as a bearer token.
func withServer(
    _ script: String = "", _ options: ScriptedServer.Options = .init(), trusting roots: String? = nil,
    idleTimeout: Duration = .seconds(30), token: String? = nil, configuration: HTTPConfiguration = HTTPConfiguration(),
    _ body: (ScriptedServer, UploadHarness) async throws -> Void
) async throws {
    let server = try await ScriptedServer(options)
    do {
        try server.run(script)
        let directory = try TemporaryDirectory("answers")
        defer { directory.remove() }
        var credentials: [Destination: Credential] = [:]
        if let token {
            let file = try directory.file("token", Array(token.utf8))
            chmod(file, 0o600)
            for host in [options.host, "localhost"] {
                let scheme = options.identity == nil ? "http" : "https"
                credentials[Destination(scheme: scheme, host: host, port: server.port)] = .bearer(.file(file))
            }
        }
        let trustRoots = try roots.map { try directory.file("roots.pem", Array($0.utf8)) }
        let harness = try UploadHarness(
            idleTimeout: idleTimeout, trustRoots: trustRoots, credentials: credentials, configuration: configuration,
            directory: directory)
        try await body(server, harness)
    } catch {
        await server.stop()
        throw error
    }
    await server.stop()
}
