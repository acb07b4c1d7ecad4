package import Configuration
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
    /// | `upload.connectionsPerHost` | 1024 | connections to one scheme, host and port |
    /// | `upload.trustRootsFile` | none | PEM file of certificates to trust besides the system's |
    ///
    /// - Throws: ``ConfigurationError`` naming the key.
    package init(reading configuration: ConfigReader) throws(ConfigurationError) {
        let upload = configuration.scoped(to: "upload")
        http.connectTimeout = try Self.seconds(upload, "connectTimeout", default: http.connectTimeout)
        http.idleTimeout = try Self.seconds(upload, "idleTimeout", default: http.idleTimeout)
        let connections = upload.int(forKey: "connectionsPerHost", default: http.connectionsPerHost)
        guard (1...65_535).contains(connections) else {
            throw ConfigurationError(key: "upload.connectionsPerHost", "must be from 1 to 65535, not \(connections)")
        }
        http.connectionsPerHost = connections
        http.trustRootsFile = upload.string(forKey: "trustRootsFile")
        if let file = http.trustRootsFile {
            do { _ = try SourceFile(path: file) } catch {
                throw ConfigurationError(key: "upload.trustRootsFile", error.message)
            }
        }
        credentials = try CredentialStore(reading: configuration)
        resumes = try ResumeRules(reading: configuration)
    }

    private static func seconds(
        _ section: ConfigReader, _ key: String, default fallback: Duration
    ) throws(ConfigurationError) -> Duration {
        let configKey = ConfigKey([key])
        guard let seconds = section.double(forKey: configKey) else { return fallback }
        guard seconds >= 0.05, seconds <= 86_400 else {
            throw ConfigurationError(key: "upload.\(key)", "must be seconds from 0.05 to 86400, not \(seconds)")
        }
        return .milliseconds(Int64(seconds * 1000))
    }
}
