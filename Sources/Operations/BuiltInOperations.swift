package import Settings
package import Work

/// The operations that come with Sluice.
package enum BuiltInOperations {
    /// For a worker, and for whoever checks payloads. Costs next to nothing until the first upload: threads, client and
    /// certificates come with it.
    ///
    /// - Parameter own: operations of another program; one of a built-in type stands in for it.
    package static func registry(
        _ configuration: OperationsConfiguration = OperationsConfiguration(), and own: [any Operation] = []
    ) -> OperationRegistry {
        let builtIn: [any Operation] = [
            NoopOperation(),
            UploadOperation(
                configuration: configuration.http, credentials: configuration.credentials,
                resumes: configuration.resumes),
        ]
        return OperationRegistry(own + builtIn.filter { operation in !own.contains { $0.type == operation.type } })
    }
}

/// What `sluice.yaml` says to the built-in operations.
package struct OperationsConfiguration: Sendable, Equatable {
    package var http = HTTPConfiguration()
    package var credentials = CredentialStore()
    package var resumes = ResumeRules()

    package init() {}

    /// Reads the section `upload`, the credentials (``CredentialStore/init(reading:)``) and what destinations understand
    /// (``ResumeRules/init(reading:)``):
    ///
    /// | key | default | meaning |
    /// |---|---|---|
    /// | `upload.connectTimeout` | 10 | seconds for name lookup, connection and TLS handshake together |
    /// | `upload.idleTimeout` | 30 | seconds in which no byte may move either way |
    /// | `upload.connectionsPerHost` | 1024 | connections to one scheme, host and port: in each worker, for requests that may be repeated, and as many for others |
    /// | `upload.trustRootsFile` | none | PEM file of certificates to trust besides the system's |
    ///
    /// - Throws: ``SettingsError`` naming the key.
    package init(reading reader: inout SettingsReader) throws(SettingsError) {
        try Self.read(&http.connectTimeout, "connectTimeout", &reader)
        try Self.read(&http.idleTimeout, "idleTimeout", &reader)
        try reader.read(&http.connectionsPerHost, ["upload", "connectionsPerHost"])
        guard (1...65_535).contains(http.connectionsPerHost) else {
            throw SettingsError(
                key: "upload.connectionsPerHost", problem: "takes 1 to 65535, not \(http.connectionsPerHost)")
        }
        http.trustRootsFile = try reader.text(["upload", "trustRootsFile"])
        credentials = try CredentialStore(reading: &reader)
        resumes = try ResumeRules(reading: &reader)
    }

    /// For whoever uploads: the certificates must be there. Others may not be permitted to look.
    package func checkFiles() throws(SettingsError) {
        guard let file = http.trustRootsFile else { return }
        do { _ = try SourceFile(path: file) } catch {
            throw SettingsError(key: "upload.trustRootsFile", problem: error.message)
        }
    }

    private static func read(
        _ value: inout Duration, _ key: String, _ reader: inout SettingsReader
    ) throws(SettingsError) {
        try reader.read(&value, ["upload", key])
        guard value >= .milliseconds(50), value <= .seconds(86_400) else {
            throw SettingsError(key: "upload.\(key)", problem: "takes 0.05 to 86400 seconds, not \(value)")
        }
    }
}
