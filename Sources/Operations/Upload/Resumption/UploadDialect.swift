/// The requests of a protocol by which an upload can be resumed. It sends them and reads the answers; ``Resumption``
/// decides.
protocol UploadDialect: Sendable {
    /// What another execution needs to go on; nil before ``begin()`` has made the upload.
    var checkpoint: UploadCheckpoint.Way? { get }
    /// Whether the file may come in several requests, each with an end that is not the file's.
    var takesChunks: Bool { get }

    /// Makes the upload.
    mutating func begin() async -> ResumptionAnswer
    /// Asks how many bytes are there.
    func locate() async -> ResumptionAnswer
    /// Sends bytes from the offset that the destination named.
    func append(_ range: Range<Int64>) async -> ResumptionAnswer
    /// Asks whether every byte is there.
    func confirm() async -> ResumptionAnswer
}
