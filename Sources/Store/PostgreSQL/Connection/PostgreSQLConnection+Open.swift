internal import CPostgreSQL
internal import Commands
internal import Host

extension PostgreSQLConnection {
    /// The lowest version of the server and of libpq: pipelines came with 14.
    static let minVersion = 140_000

    /// Connects to the first server of a location that accepts writes. Tries each address once; the caller repeats.
    ///
    /// The hosts are tried one by one, because libpq moves on to the next one only by its blocking calls
    /// (manual, “PQconnectPoll”: `connect_timeout` is ignored). As in libpq, a refused login ends the search.
    /// - Parameters:
    ///   - deadline: of the whole search. One address takes at most ``PostgreSQLLocation/hostTimeout`` of it.
    ///   - notices: receives the notices and warnings of the server, on the thread that uses the connection, which it leaves
    ///     alone; nil drops them.
    /// - Throws: `.unreachable` where no server is there, with the reason of each; `.permission`, `.missing`, `.invalid`,
    ///   `.unsuitable` as ``PostgreSQLError/Meaning`` says.
    static func open(
        _ location: PostgreSQLLocation, deadline: MonotonicTime,
        notices: (@Sendable (ServerReport) -> Void)? = nil
    ) throws(PostgreSQLError) -> PostgreSQLConnection {
        try loadLibrary()
        for parameter in location.parameters where !isKnown(parameter.name) {
            throw PostgreSQLError(
                .invalid,
                "libpq has no parameter “\(parameter.name.excerpt)”; remove it from the URL of the store \(location).")
        }
        let receiver = notices.map { NoticeReceiver(PasswordRedaction(location.secrets), $0) }
        var reasons: [String] = []
        for (index, host) in targets(of: location) {
            let addresses: [String?]
            switch lookUp(host, in: location, until: end(of: location, deadline)) {
            case .success(let found): addresses = found
            case .failure(let failure):
                reasons.append("\(text(host)): \(failure.reason)")
                continue
            }
            for address in addresses where MonotonicTime.now < deadline {
                let attempt = ConnectionAttempt(location: location, host: host, index: index, address: address)
                switch try attempt.run(until: end(of: location, deadline), notices: receiver) {
                case .connected(let connection): return connection
                case .failed(let reason): reasons.append("\(text(host)): \(reason)")
                }
            }
        }
        if MonotonicTime.now >= deadline { reasons.append("the deadline has passed") }
        throw .lost("The store \(location)", "cannot connect (\(reasons.joined(separator: "; ")))")
    }

    private static func end(of location: PostgreSQLLocation, _ deadline: MonotonicTime) -> MonotonicTime {
        location.hostTimeout.map { min(deadline, .now + $0) } ?? deadline
    }

    /// The hosts with their positions in the URL; one nil where libpq finds the server.
    private static func targets(of location: PostgreSQLLocation) -> [(Int, PostgreSQLLocation.Host?)] {
        location.hosts.isEmpty ? [(0, nil)] : location.hosts.enumerated().map { ($0.offset, $0.element) }
    }

    private static func text(_ host: PostgreSQLLocation.Host?) -> String {
        guard let host else { return "the server of libpq's defaults" }
        let port = host.port.map { ":\($0)" } ?? ""
        return host.name.contains(":") ? "[\(host.name)]\(port)" : "\(host.name)\(port)"
    }

    private static func lookUp(
        _ host: PostgreSQLLocation.Host?, in location: PostgreSQLLocation, until deadline: MonotonicTime
    ) -> Result<[String?], HostLookup.Failure> {
        guard let host, !host.isSocket, location["hostaddr"] == nil else { return .success([nil]) }
        return HostLookup.addresses(of: host.name, until: deadline).map { $0.map { $0 } }
    }

    /// - Parameter version: of the server, as libpq tells it: 150018 is 15.18.
    /// - Throws: `.unsuitable` for a server that is too old.
    static func checkVersion(_ version: Int, of server: String) throws(PostgreSQLError) {
        guard version < minVersion else { return }
        throw PostgreSQLError(
            .unsuitable,
            "\(server): the version is \(version / 10_000).\(version % 10_000), and a store needs PostgreSQL 14 or later."
        )
    }

    // MARK: Library

    private static func isKnown(_ parameter: String) -> Bool { cpostgresql_knows_parameter(parameter) != 0 }

    /// - Throws: `.unsuitable` where libpq is missing or too old.
    static func loadLibrary() throws(PostgreSQLError) {
        var detail: UnsafePointer<CChar>?
        let code = cpostgresql_load(&detail)
        try checkLibrary(code, detail.map { String(cString: $0) } ?? "")
    }

    /// - Parameters:
    ///   - code: of `cpostgresql_load_result`.
    ///   - detail: the text of dlerror(3), or the name of the missing function.
    static func checkLibrary(_ code: CInt, _ detail: String) throws(PostgreSQLError) {
        switch cpostgresql_load_result(rawValue: UInt32(code)) {
        case CPOSTGRESQL_LOADED: return
        case CPOSTGRESQL_FUNCTION_MISSING:
            throw PostgreSQLError(
                .unsuitable,
                "The library libpq.so.5 lacks the function \(detail): it is older than PostgreSQL 14. Install the package "
                    + "libpq5 of version 14 or later.")
        default:
            throw PostgreSQLError(
                .unsuitable,
                "The library libpq.so.5 is missing: install the package libpq5 (Debian, Ubuntu), postgresql-libs (Fedora) or "
                    + "libpq (Alpine) (\(detail)).")
        }
    }
}
