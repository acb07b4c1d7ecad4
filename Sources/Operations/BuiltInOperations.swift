internal import Settings
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
