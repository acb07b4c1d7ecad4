/// A protocol for resumable uploads: sends its requests and reads the answers. ``Resumption`` decides the
/// steps.
protocol UploadDialect: Sendable {
    /// The state that another execution needs to resume the upload; nil before ``create()``.
    var checkpoint: UploadCheckpoint.ResumePoint? { get }
    /// Whether the file may be sent in several requests.
    var takesChunks: Bool { get }

    /// Creates the upload.
    mutating func create() async -> ResumptionAnswer
    /// Queries how many bytes the destination holds.
    func locate() async -> ResumptionAnswer
    /// Sends bytes from the offset that the destination reported.
    func append(_ range: Range<Int64>) async -> ResumptionAnswer
    /// Queries whether the destination holds every byte.
    func confirm() async -> ResumptionAnswer
}
