internal import Commands
internal import Crypto
internal import Host
internal import Store
internal import Transfers

/// Reads ranges of the source for their digests. The bytes are sent afterwards from the page cache.
struct S3PartReader: Sendable {
    /// The digests to make.
    struct Kinds: Sendable {
        var sha256 = false
        var md5 = false
        var crc32c = false

        static let md5 = Kinds(md5: true)

        /// The digests that a part needs.
        init(_ checksum: S3Checksum, isEncrypted: Bool) {
            sha256 = checksum.needsSHA256(isEncrypted: isEncrypted)
            md5 = checksum == .md5
            crc32c = checksum == .crc32c
        }

        private init(md5: Bool) { self.md5 = md5 }

        var isEmpty: Bool { !sha256 && !md5 && !crc32c }
    }

    private struct Hashes: Sendable {
        var sha256: SHA256?
        var md5: Insecure.MD5?
        var crc32c: CRC32?

        mutating func update(_ bytes: UnsafeRawBufferPointer) {
            sha256?.update(bufferPointer: bytes)
            md5?.update(bufferPointer: bytes)
            crc32c?.update(bytes)
        }
    }

    /// Bytes of one call to the file system. A call that takes longer than 10 s counts as hung.
    private static let step: Int64 = 8 << 20
    private static let bufferSize = 256 << 10

    let source: SourceFile

    /// - Parameter progress: is called with the bytes that were read of a range of more than 8 MiB.
    /// - Throws: ``CommandFailure``, final where the source has changed; `CancellationError`.
    func digest(
        of range: Range<Int64>, _ kinds: Kinds, progress: @Sendable (_ bytes: Int64) -> Void = { _ in }
    ) async throws -> S3PartDigest {
        guard !kinds.isEmpty else { return S3PartDigest() }
        var hashes = Hashes(
            sha256: kinds.sha256 ? SHA256() : nil, md5: kinds.md5 ? Insecure.MD5() : nil,
            crc32c: kinds.crc32c ? CRC32(.castagnoli) : nil)
        var offset = range.lowerBound
        while offset < range.upperBound {
            let end = min(offset + Self.step, range.upperBound)
            let (start, before) = (offset, hashes)
            hashes = try await BlockingIO.sources.run(at: source.path) { try read(start..<end, before) }
            offset = end
            if range.count > Self.step { progress(offset - range.lowerBound) }
        }
        return S3PartDigest(
            sha256: hashes.sha256.map { Array($0.finalize()) }, md5: hashes.md5.map { Array($0.finalize()) },
            crc32c: hashes.crc32c?.value)
    }

    /// Blocks.
    private func read(_ range: Range<Int64>, _ before: Hashes) throws -> Hashes {
        var hashes = before
        var offset = range.lowerBound
        var buffer = [UInt8](repeating: 0, count: Self.bufferSize)
        while offset < range.upperBound {
            let count = Int(min(Int64(Self.bufferSize), range.upperBound - offset))
            let done: Int
            do {
                done = try buffer.withUnsafeMutableBytes {
                    try source.read(into: .init(rebasing: $0.prefix(count)), at: offset)
                }
            } catch {
                throw CommandFailure(.command, reason: "the source \(source.path) cannot be read: \(error)")
            }
            guard done == count else {
                throw SourceFile.changed(
                    source.path, "while it was read: it ends after \(offset + Int64(done)) bytes now")
            }
            buffer.withUnsafeBytes { hashes.update(.init(rebasing: $0.prefix(count))) }
            offset += Int64(count)
        }
        return hashes
    }
}
