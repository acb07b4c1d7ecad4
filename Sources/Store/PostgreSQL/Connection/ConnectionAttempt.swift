internal import CPostgreSQL
internal import Host
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The connection to one address of a server.
struct ConnectionAttempt {
    let location: PostgreSQLLocation
    /// Nil where libpq finds the server.
    let host: PostgreSQLLocation.Host?
    /// The position of the host in the URL.
    let index: Int
    /// The address of the host, where this program has looked it up.
    let address: String?

    enum Outcome: ~Copyable {
        case connected(PostgreSQLConnection)
        /// Another server may do better.
        case failed(String)
    }

    /// - Throws: an error that every server of the location would have.
    func run(until deadline: MonotonicTime, notices: NoticeReceiver?) throws(PostgreSQLError) -> Outcome {
        guard let pointer = start() else {
            throw PostgreSQLError(.exhausted, "libpq has no memory for a connection; try again.")
        }
        let handle = LibpqHandle(pointer)
        cpostgresql_set_verbose_errors(pointer)
        NoticeReceiver.attach(notices, to: pointer)
        // It has failed already where there is no socket.
        var polling = cpostgresql_socket(pointer) < 0 ? CPOSTGRESQL_POLLING_FAILED : CPOSTGRESQL_POLLING_WRITING
        while true {
            switch polling {
            case CPOSTGRESQL_POLLING_OK:
                return .connected(try established(handle, notices: notices))
            case CPOSTGRESQL_POLLING_READING, CPOSTGRESQL_POLLING_WRITING:
                let events = Int16(polling == CPOSTGRESQL_POLLING_READING ? POLLIN : POLLOUT)
                guard LibpqHandle.wait(cpostgresql_socket(pointer), events, until: deadline) else {
                    return .failed("no answer in time")
                }
                polling = cpostgresql_polling(rawValue: UInt32(cpostgresql_connect_poll(pointer)))
            default:
                return .failed(try reason(of: pointer))
            }
        }
    }

    // MARK: Parameters

    /// The parameters for libpq.
    var parameters: [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        func add(_ name: String, _ value: String?) { if let value { parameters.append((name, value)) } }
        add("host", host?.name)
        add("port", host?.port.map { "\($0)" })
        add("user", location.user)
        add("password", location.password)
        add("dbname", location.database)
        for parameter in location.parameters {
            switch parameter.name {
            // This program counts the time.
            case "connect_timeout": continue
            case "hostaddr" where host != nil:
                let addresses = parameter.value.split(separator: ",", omittingEmptySubsequences: false)
                if index < addresses.count { add("hostaddr", String(addresses[index])) }
            default: add(parameter.name, parameter.value)
            }
        }
        add("hostaddr", address)
        if location["target_session_attrs"] == nil { add("target_session_attrs", "read-write") }
        add("client_encoding", "UTF8")
        add("fallback_application_name", "sluice")
        return parameters
    }

    private func start() -> OpaquePointer? {
        let parameters = parameters
        var names: [UnsafePointer<CChar>?] = parameters.map { UnsafePointer(strdup($0.name)) }
        var values: [UnsafePointer<CChar>?] = parameters.map { UnsafePointer(strdup($0.value)) }
        defer { for text in names + values { free(UnsafeMutablePointer(mutating: text)) } }
        names.append(nil)
        values.append(nil)
        return cpostgresql_connect_start(names, values)
    }

    // MARK: Outcomes

    private func established(
        _ handle: consuming LibpqHandle, notices: NoticeReceiver?
    ) throws(PostgreSQLError) -> PostgreSQLConnection {
        guard let pointer = handle.pointer else { throw .lost("PostgreSQL", "the connection is closed") }
        let server = server(pointer)
        try PostgreSQLConnection.checkVersion(Int(cpostgresql_server_version(pointer)), of: server)
        guard cpostgresql_set_nonblocking(pointer) == 0, cpostgresql_enter_pipeline_mode(pointer) == 1 else {
            throw .lost(server, handle.message)
        }
        return PostgreSQLConnection(handle, server: server, redaction: redaction(pointer), notices: notices)
    }

    /// - Throws: an error of the login, of the database or of the program.
    private func reason(of pointer: OpaquePointer) throws(PostgreSQLError) -> String {
        let text = String(cString: cpostgresql_error_message(pointer))
        let redaction = redaction(pointer)
        if let report = ServerReport(connecting: text)?.redacted(by: redaction) {
            let error = PostgreSQLError(report, from: server(pointer))
            guard error.recovery == .reconnect || error.code == .exhausted else { throw error }
            return "\(report.message) (SQLSTATE \(report.sqlState))"
        }
        guard cpostgresql_needs_password(pointer) == 0 else {
            throw PostgreSQLError(
                .permission,
                "\(server(pointer)): the server asks for a password and there is none; write it into the URL, or into the file "
                    + "~/.pgpass.")
        }
        return redaction.text(Self.withoutSubject(LibpqHandle.line(text)))
    }

    /// Without the address at the start, which the message names itself.
    private static func withoutSubject(_ line: String) -> String {
        let marker = " failed: "
        guard line.hasPrefix("connection to server"),
            let start = line.indices.first(where: { line[$0...].hasPrefix(marker) })
        else { return line }
        return String(line[start...].dropFirst(marker.count))
    }

    private func redaction(_ pointer: OpaquePointer) -> PasswordRedaction {
        // Also the password of the environment or of ~/.pgpass.
        PasswordRedaction(location.secrets + [Self.text(cpostgresql_password(pointer))])
    }

    private func server(_ pointer: OpaquePointer) -> String {
        let host = Self.text(cpostgresql_host(pointer))
        let address = host.contains(":") ? "[\(host)]" : host
        return "PostgreSQL at \(address):\(Self.text(cpostgresql_port(pointer))), database "
            + "“\(Self.text(cpostgresql_database(pointer)))”, user “\(Self.text(cpostgresql_user(pointer)))”"
    }

    private static func text(_ text: UnsafePointer<CChar>?) -> String { text.map { String(cString: $0) } ?? "" }
}

/// Finds the addresses of a host within a deadline. getaddrinfo(3), which libpq would call, waits as long as the resolver
/// does: 5 s for each name server that is away, twice.
enum HostLookup {
    struct Failure: Error {
        /// Without a full stop.
        var reason: String
    }

    /// - Parameter host: a name, or an address without brackets.
    /// - Returns: numeric addresses in the order of preference (RFC 6724), each once.
    static func addresses(of host: String, until deadline: MonotonicTime) -> Result<[String], Failure> {
        if let addresses = try? resolve(host, AI_NUMERICHOST) { return .success(addresses) }
        final class Answer: Sendable {
            let result = Mutex<Result<[String], Failure>?>(nil)
            let isThere = MonotonicSemaphore(value: 0)
        }
        let answer = Answer()
        // The thread outlives a passed deadline, and ends with the resolver's answer.
        startThread(named: "name lookup") {
            let result = Result { () throws(Failure) in try resolve(host, 0) }
            answer.result.withLock { $0 = result }
            answer.isThere.signal()
        }
        guard answer.isThere.wait(until: deadline), let result = answer.result.withLock({ $0 }) else {
            return .failure(Failure(reason: "the name was not resolved in time"))
        }
        return result
    }

    private static func resolve(_ host: String, _ flags: CInt) throws(Failure) -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        hints.ai_flags = flags
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else { throw Failure(reason: String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var entry = list
        while let info = entry?.pointee {
            entry = info.ai_next
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard
                getnameinfo(
                    info.ai_addr, info.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            else { continue }
            let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}
