package import Host

extension StoreCopy {
    /// A store, as an argument of `sluice store copy`.
    package enum Place: Sendable {
        case directory(DataDirectory)
        /// - Parameters:
        ///   - url, schema: as of ``PostgreSQLStore/init(url:schema:clock:)``.
        case server(url: String, schema: String? = nil)
    }
}

extension StoreCopy.Place {
    /// For messages and the mark, without a password.
    package var name: String {
        switch self {
        case .directory(let data): data.resolved.path
        case .server(let url, let schema):
            ((try? PostgreSQLLocation(url).description) ?? "postgres://…") + (schema.map { " (\($0))" } ?? "")
        }
    }

    func isSame(as other: Self) -> Bool {
        switch (self, other) {
        case (.directory(let first), .directory(let second)):
            first.resolved == second.resolved
        case (.server(let first, let firstSchema), .server(let second, let secondSchema)):
            first == second && firstSchema == secondSchema
        default: false
        }
    }

    func withSource<Value>(
        _ body: (any CopySource) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        switch self {
        case .directory(let data): try body(SQLiteCopySource(data))
        case .server(let url, let schema):
            try PostgreSQLCopySource.open(url, schema, name: name) { source throws(StoreError) in try body(source) }
        }
    }

    func withTarget<Value>(
        of source: any CopySource, _ body: (any CopyTarget) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        switch self {
        case .directory(let data): try body(SQLiteCopyTarget(data, of: source))
        case .server(let url, let schema):
            try PostgreSQLCopyTarget.open(url, schema, name: name, of: source) { target throws(StoreError) in
                try body(target)
            }
        }
    }
}
