/// How a file is divided into parts. All parts but the last have one size, because some stores (Cloudflare
/// R2) demand it. The plan is fixed when the upload is created and stands in ``S3Checkpoint``.
///
/// Limits: S3, “Amazon S3 multipart upload limits”.
struct PartPlan: Sendable, Equatable {
    static let maxParts = 10_000
    static let partSizes: ClosedRange<Int64> = 5 << 20...5 << 30
    /// The maximum size of one PutObject, and so of a presigned URL.
    static let maxSingle: Int64 = 5 << 30
    /// The size of a part where the payload names none: the smallest one that 10,000 parts allow.
    static let defaultPartSize: Int64 = 8 << 20
    /// 10,000 parts of 5 GiB: 48.8 TiB.
    static let maxSize = Int64(maxParts) * partSizes.upperBound

    /// Bytes of the file.
    let size: Int64
    let partSize: Int64
    /// 1…``maxParts``
    let count: Int

    /// Plans an upload.
    /// - Parameters:
    ///   - size: bytes of the file.
    ///   - partSize: bytes of a part, within ``partSizes``; nil: chosen.
    /// - Throws: ``PartPlanError`` with a sentence that names the numbers.
    init(size: Int64, partSize: Int64? = nil) throws(PartPlanError) {
        guard size >= 0 else { throw PartPlanError("the file has \(size) bytes, which is not a size") }
        guard size <= Self.maxSize else {
            throw PartPlanError("the file has \(size) bytes; an object of S3 has at most \(Self.maxSize) (48.8 TiB)")
        }
        let partSize = partSize ?? Self.partSize(for: size)
        guard Self.partSizes.contains(partSize) else {
            throw PartPlanError("a part of \(partSize) bytes is not possible; a part has 5 MiB to 5 GiB")
        }
        let count = max(1, Self.quotient(size, partSize))
        guard count <= Self.maxParts else {
            let smallest = Self.partSize(for: size)
            throw PartPlanError(
                "the file has \(size) bytes and would have \(count) parts of \(partSize); S3 takes \(Self.maxParts), so set "
                    + "“partSize” to \(smallest) or leave it out")
        }
        self.size = size
        self.partSize = partSize
        self.count = Int(count)
    }

    /// Whether one PutObject sends the file.
    var isSingle: Bool { count == 1 }

    /// The bytes of a part.
    /// - Parameter number: 1…``count``
    /// - Returns: nil for any other number.
    func range(of number: Int) -> Range<Int64>? {
        guard (1...count).contains(number) else { return nil }
        let start = Int64(number - 1) * partSize
        return start..<min(start + partSize, size)
    }

    /// The numbers of the parts that the endpoint has not acknowledged, in order.
    func missing(_ acknowledged: some Collection<Int>) -> [Int] {
        let acknowledged = Set(acknowledged)
        return (1...count).filter { !acknowledged.contains($0) }
    }

    /// The bytes of the acknowledged parts.
    func bytes(of acknowledged: some Sequence<Int>) -> Int64 {
        Set(acknowledged).reduce(0) { $0 + Int64(range(of: $1)?.count ?? 0) }
    }

    /// 8 MiB, or the least number of MiB with which 10,000 parts are enough.
    private static func partSize(for size: Int64) -> Int64 {
        let needed = quotient(size, Int64(maxParts))
        return max(defaultPartSize, quotient(needed, 1 << 20) << 20)
    }

    /// Rounded up.
    private static func quotient(_ dividend: Int64, _ divisor: Int64) -> Int64 {
        dividend / divisor + (dividend % divisor == 0 ? 0 : 1)
    }
}

/// Why a file cannot be divided into parts.
struct PartPlanError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A sentence that names the numbers.
    var message: String

    init(_ message: String) { self.message = message }

    var description: String { message }
}
