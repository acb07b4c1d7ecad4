internal import Commands
internal import Host
internal import Store
internal import Synchronization

/// Writes the bytes of one request to the file of its upload. One part is gathered while the one before is written. Bytes
/// that the upload has are compared with the file instead.
final class FileReceiver: UploadReceiver, @unchecked Sendable {
    // Unchecked: the request's task uses it, one call after the other, and the engine only after the end of that task.
    private let file: SpoolFile
    private let disk: BlockingPool
    private let upload: Upload
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
    /// A part was not written, or differs. The parts after it are not written either: they would leave a hole.
    private var failure: UploadError?
    private var hashes: [IncrementalDigest]
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
    ///   - upload: has the bytes that are compared.
    ///   - start: the offset of the first byte.
    ///   - limit: the offset that no byte may pass.
    ///   - algorithms: digests that are computed while the bytes come.
    init(
        _ file: SpoolFile, on disk: BlockingPool, of upload: Upload, start: Int64, limit: Int64,
        algorithms: Set<UploadDigest.Algorithm>, checksum: UploadDigest?,
        partSize: @escaping @Sendable () -> Int,
        reserve: @escaping @Sendable (Int64) async throws(UploadError) -> Void,
        written: @escaping @Sendable (Range<Int64>) -> Void
    ) {
        self.file = file
        self.upload = upload
        self.disk = disk
        self.checksum = checksum
        self.partSize = partSize
        self.reserve = reserve
        self.written = written
        self.start = start
        end = start
        allowance = limit - start
        part = PartBuffer(capacity: Self.firstCapacity)
        hashes = algorithms.map { IncrementalDigest($0) }
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
        for index in hashes.indices { hashes[index].update(bytes) }
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

    /// Digests of all bytes of the upload up to ``end``; none where the request does not begin at its first byte.
    var digests: [UploadDigest] { start == 0 ? hashes.compactMap { $0.finish() } : [] }

    private func writePart() async throws(UploadError) {
        if let failure { throw failure }
        guard part.count > 0 else { return }
        try await reserve(end)
        try await finishWriting()
        let full = part
        let (start, end) = (self.end - Int64(full.count), self.end)
        let capacity = partSize()
        part = spare ?? PartBuffer(capacity: capacity)
        part.removeAll(capacity: capacity)
        spare = full
        // Bytes of the part that the upload has.
        let known = Int(min(max(upload.offset - start, 0), Int64(full.count)))
        writing = Task { [file, disk, upload, written] in
            let isSame = try await disk.run { () throws(SystemError) in
                let isSame = try file.has(.init(rebasing: full.bytes[..<known]), at: start)
                if isSame { try file.write(.init(rebasing: full.bytes[known...]), at: start + Int64(known)) }
                return isSame
            }
            guard isSame else { throw UploadError.keyConflict(upload, "has other bytes before byte \(end)") }
            if known < full.count { written((start + Int64(known))..<end) }
        }
    }

    private func finishWriting() async throws(UploadError) {
        guard let writing else { return }
        self.writing = nil
        do { try await writing.value } catch {
            let reason =
                switch error {
                case let error as UploadError: error
                case let error as SystemError: UploadError(error)
                default: UploadError(.failed, "\(error)")
                }
            failure = reason
            throw reason
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
        if let hash = hashes.first(where: { $0.algorithm == checksum.algorithm }) { return hash.finish() == checksum }
        let found = await disk.digest(of: file, start..<end, checksum.algorithm)
        do throws(SystemError) { return try found.get() == checksum } catch { throw UploadError(error) }
    }
}

/// Compares the bytes of a request with those of a complete upload, without keeping them.
final class ContentComparison: UploadReceiver, @unchecked Sendable {
    // Unchecked: the request's task uses it, one call after the other, and the engine only after the end of that task.
    private let upload: Upload
    private let sha256: [UInt8]
    private var digest = IncrementalDigest(.sha256)
    private(set) var count: Int64 = 0

    /// - Parameter sha256: of all bytes of the upload.
    init(_ upload: Upload, sha256: [UInt8]) {
        self.upload = upload
        self.sha256 = sha256
    }

    func add(_ bytes: UnsafeRawBufferPointer) {
        count += Int64(bytes.count)
        digest.update(bytes)
    }

    func flush() async throws(UploadError) { try checkCount() }

    /// A checksum of equal bytes says nothing more.
    func setChecksum(_ checksum: UploadDigest) {}

    /// - Parameter isCut: whether the request may have had more bytes.
    /// - Throws: `keyConflict` for other bytes than those of the upload; `interrupted`.
    func finish(isCut: Bool) throws(UploadError) {
        try checkCount()
        if isCut {
            throw UploadError(
                .interrupted, "The request was cut before its bytes were compared with those of upload \(upload.id).",
                offset: upload.offset)
        }
        guard count == upload.offset, digest.finish()?.bytes == sha256 else {
            throw .keyConflict(upload, "has other bytes")
        }
    }

    private func checkCount() throws(UploadError) {
        if count > upload.offset { throw .keyConflict(upload, "has \(upload.offset) bytes") }
    }
}

/// Bytes of one request that go to the disk together. It is used again and again: an allocation of this size costs a
/// mapping and a page fault for each page. One task at a time uses it.
final class PartBuffer: @unchecked Sendable {
    // Unchecked: `FileReceiver` hands it to the write, and touches it again after the end of the write.
    private var storage: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(capacity: Int) { storage = .allocate(byteCount: capacity, alignment: 16) }

    deinit { storage.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[..<count]) }

    func append(_ bytes: UnsafeRawBufferPointer) {
        if bytes.count > storage.count - count { move(to: count + bytes.count) }
        UnsafeMutableRawBufferPointer(rebasing: storage[count...]).copyMemory(from: bytes)
        count += bytes.count
    }

    /// Forgets the bytes.
    /// - Parameter capacity: a much larger buffer than this is exchanged for a smaller one.
    func removeAll(capacity: Int) {
        count = 0
        if storage.count > 2 * capacity { move(to: capacity) }
    }

    private func move(to capacity: Int) {
        let next = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
        next.copyMemory(from: bytes)
        storage.deallocate()
        storage = next
    }
}

/// A digest of bytes that come in parts.
struct IncrementalDigest {
    let algorithm: UploadDigest.Algorithm
    private var hash: any IncrementalHash

    init(_ algorithm: UploadDigest.Algorithm) {
        self.algorithm = algorithm
        hash = algorithm.makeHash()
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) { hash.update(bytes) }

    func finish() -> UploadDigest? { UploadDigest(algorithm, hash.bytes) }
}

extension BlockingPool {
    /// Reads a part of a file for its digest.
    func digest(
        of file: SpoolFile, _ range: Range<Int64>, _ algorithm: UploadDigest.Algorithm
    ) async -> Result<UploadDigest?, SystemError> {
        await run { () throws(Never) in
            Result { () throws(SystemError) in
                var digest = IncrementalDigest(algorithm)
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
                defer { buffer.deallocate() }
                var offset = range.lowerBound
                while offset < range.upperBound {
                    let wanted = Int(min(Int64(buffer.count), range.upperBound - offset))
                    let count = try file.read(into: .init(rebasing: buffer[..<wanted]), at: offset)
                    guard count > 0 else { return nil }
                    digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                    offset += Int64(count)
                }
                return digest.finish()
            }
        }
    }
}
