internal import Host
internal import Store
internal import Synchronization

/// Writes the bytes of one request to the file of its upload. One part is gathered while the one before is written.
final class FileReceiver: UploadReceiver, @unchecked Sendable {
    // Unchecked: the request's task uses it, one call after the other, and the engine only after the end of that task.
    private let file: SpoolFile
    private let disk: DiskThreads
    /// Called before bytes are taken that end at an offset.
    private let reserve: @Sendable (_ end: Int64) async throws(UploadError) -> Void
    /// Called after a part was written, with its bytes in the file.
    private let written: @Sendable (Range<Int64>) -> Void
    private let partSize: @Sendable () -> Int
    private var part: PartBuffer
    /// The part that was written last.
    private var spare: PartBuffer?
    private var partBegan: MonotonicTime?
    private var writing: Task<Void, any Error>?
    private var digest: IncrementalDigest?
    private(set) var checksum: UploadDigest?
    /// The offset of the first byte.
    private let start: Int64
    /// The offset of the next byte.
    private(set) var end: Int64
    private static let maxAge: Duration = .milliseconds(500)
    /// A small upload needs no more; the buffer grows with the first part of a larger one.
    private static let firstCapacity = 32 << 10
    /// Bytes that the request may still bring.
    private var allowance: Int64

    /// - Parameters:
    ///   - start: the offset of the first byte.
    ///   - limit: the offset that no byte may pass.
    init(
        _ file: SpoolFile, on disk: DiskThreads, start: Int64, limit: Int64, checksum: UploadDigest?,
        partSize: @escaping @Sendable () -> Int,
        reserve: @escaping @Sendable (Int64) async throws(UploadError) -> Void,
        written: @escaping @Sendable (Range<Int64>) -> Void
    ) {
        self.file = file
        self.disk = disk
        self.checksum = checksum
        self.partSize = partSize
        self.reserve = reserve
        self.written = written
        self.start = start
        end = start
        allowance = limit - start
        part = PartBuffer(capacity: Self.firstCapacity)
        digest = checksum.map { IncrementalDigest($0.algorithm) }
    }

    /// Whether more bytes came than the upload may have.
    private(set) var isTooLong = false

    func add(_ bytes: UnsafeRawBufferPointer) {
        guard Int64(bytes.count) <= allowance else {
            isTooLong = true
            return
        }
        allowance -= Int64(bytes.count)
        end += Int64(bytes.count)
        digest?.update(bytes)
        if part.count == 0 { partBegan = .now }
        part.append(bytes)
    }

    func flush() async throws(UploadError) {
        if isTooLong { throw UploadError(.tooLarge(limit: end), "The request has more bytes than the upload.") }
        // The bytes of a slow client do not wait in memory for others.
        guard part.count >= partSize() || partBegan.map({ .now - $0 >= Self.maxAge }) ?? false else { return }
        try await writePart()
    }

    func setChecksum(_ checksum: UploadDigest) { self.checksum = checksum }

    private func writePart() async throws(UploadError) {
        guard part.count > 0 else { return }
        try await reserve(end)
        try await finishWriting()
        let full = part
        let (start, end) = (self.end - Int64(full.count), self.end)
        let capacity = partSize()
        part = spare ?? PartBuffer(capacity: capacity)
        part.removeAll(capacity: capacity)
        spare = full
        writing = Task { [file, disk, written] in
            try await disk.run { () throws(SystemError) in try file.write(full.bytes, at: start) }
            written(start..<end)
        }
    }

    private func finishWriting() async throws(UploadError) {
        guard let writing else { return }
        self.writing = nil
        do { try await writing.value } catch {
            if let system = error as? SystemError { throw UploadError(system) }
            throw UploadError(.failed, "\(error)")
        }
    }

    /// Writes the rest. Every byte that was taken is in the file afterwards.
    func finish() async throws(UploadError) {
        try await writePart()
        try await finishWriting()
    }

    /// Whether the bytes have the stated digest. One that came in a trailer is computed from the file.
    func hasChecksum() async throws(UploadError) -> Bool {
        guard let checksum else { return true }
        if let digest, digest.algorithm == checksum.algorithm { return digest.finish() == checksum }
        let found = await disk.digest(of: file, start..<end, checksum.algorithm)
        do throws(SystemError) { return try found.get() == checksum } catch { throw UploadError(error) }
    }
}
