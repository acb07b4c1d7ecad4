import Host
import TestSupport
import Testing

@testable import Store

/// The server of this process and connections to it.
struct PostgreSQLRig {
    let server: PostgreSQLServer

    init() async throws { server = try await .shared() }

    init(server: PostgreSQLServer) { self.server = server }

    /// Runs `body` with a connection, on a thread that may block.
    /// - Parameter url: nil for the Unix socket of the server.
    func connected<Value: Sendable>(
        _ url: String? = nil, _ body: @escaping @Sendable (inout PostgreSQLConnection) throws -> Value
    ) async throws -> Value {
        let location = try PostgreSQLLocation(url ?? server.socketURL())
        return try await BlockingPool.shared.run { () throws(any Error) in
            var connection = try PostgreSQLConnection.open(location, deadline: .soon)
            return try body(&connection)
        }
    }

    /// The error of opening a connection.
    func refusal(_ url: String, deadline: MonotonicTime = .soon) async throws -> PostgreSQLError {
        let location = try PostgreSQLLocation(url)
        return try await BlockingPool.shared.run { () throws(any Error) in
            do throws(PostgreSQLError) {
                _ = try PostgreSQLConnection.open(location, deadline: deadline)
            } catch {
                return error
            }
            throw Missed("\(location) accepts a connection")
        }
    }
}

extension PostgreSQLServer {
    /// The URL of a standby, which takes no writes.
    var standbyURL: String { "\(socketURL())&target_session_attrs=any" }
}

extension MonotonicTime {
    /// Long enough for a busy machine.
    static var soon: MonotonicTime { .now + .seconds(60) }
}

extension PostgreSQLConnection {
    /// Runs a statement that is not prepared, without parameters.
    @discardableResult
    mutating func run(_ sql: String, deadline: MonotonicTime = .soon) throws -> PostgreSQLResult {
        try execute(PostgreSQLStatement(once: sql), deadline: deadline)
    }

    /// The error of `body`.
    mutating func error(
        of body: (inout PostgreSQLConnection) throws(PostgreSQLError) -> Void
    ) throws -> PostgreSQLError {
        do throws(PostgreSQLError) {
            try body(&self)
        } catch {
            return error
        }
        throw Missed("no error")
    }

    /// The numbers of the table `name`, in order.
    mutating func numbers(of name: String) throws -> [Int64] {
        try run("SELECT number FROM \(name) ORDER BY number").rows { row in row[0] }
    }
}
