package import Settings
package import Work

/// The operations that come with Sluice.
package enum BuiltInOperations {
    /// For a worker, and for whoever checks payloads. Costs next to nothing until the first upload: threads, client and
    /// certificates come with it.
    ///
    /// - Parameters:
    ///   - own: operations of another program; one of a built-in type stands in for it.
    ///   - submission: what checks of uploads are told of the process that submits.
    package static func registry(
        _ configuration: OperationsConfiguration = OperationsConfiguration(), and own: [any CommandOperation] = [],
        submission: UploadOperation.Submission = UploadOperation.Submission()
    ) -> OperationRegistry {
        let builtIn: [any CommandOperation] = [
            NoopOperation(),
            UploadOperation(
                configuration: configuration.http, credentials: configuration.credentials,
                resumes: configuration.resumes, submission: submission),
        ]
        return OperationRegistry(own + builtIn.filter { operation in !own.contains { $0.type == operation.type } })
    }
}

/// What `sluice.yaml` says to the built-in operations.
package struct OperationsConfiguration: Sendable {
    package var http = HTTPConfiguration()
    package var credentials = CredentialStore()
    package var resumes = ResumeRules()

    package init() {}

    /// Reads the section `upload` (``HTTPConfiguration/init(reading:)``), the credentials
    /// (``CredentialStore/init(reading:)``) and what destinations understand (``ResumeRules/init(reading:)``).
    /// - Throws: ``SettingsError`` naming the key.
    package init(reading reader: inout SettingsReader) throws(SettingsError) {
        http = try HTTPConfiguration(reading: &reader)
        credentials = try CredentialStore(reading: &reader)
        resumes = try ResumeRules(reading: &reader)
    }
}
