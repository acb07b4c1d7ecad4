internal import Commands

/// The parts of an upload as the endpoint lists them, page by page. The list only confirms our own list of
/// parts: OpenStack Swift has listed too few of them, and a completion by that list makes a short object.
struct S3PartListing: Sendable, Equatable {
    private(set) var parts: [Int: S3ListedPart] = [:]
    /// The number after which the next page begins; 0 before the first page.
    private(set) var marker = 0
    private(set) var isWhole = false

    /// Adds a page.
    /// - Throws: ``S3ListError`` where the pages do not advance, so that the list would not end.
    mutating func add(_ page: S3PartPage) throws(S3ListError) {
        for part in page.parts { parts[part.number] = part }
        guard let next = page.next else {
            isWhole = true
            return
        }
        guard next > marker else {
            throw S3ListError("with the part \(next) as the start of a page, after a page that began at \(marker)")
        }
        marker = next
    }

    /// Whether the endpoint holds nothing of the upload any more.
    var isEmpty: Bool { isWhole && parts.isEmpty }

    /// The parts of our own list that the endpoint does not list with the same tag and the planned size. They
    /// are sent again under the same numbers.
    func lost(of own: [S3Part], _ plan: PartPlan) -> [Int] {
        guard isWhole else { return [] }
        return own.filter { !isListed($0.number, etag: $0.etag, plan) }.map(\.number).sorted()
    }

    /// The parts that the endpoint holds with the planned size and that our own list does not have: they were
    /// sent, and the answer was lost. One whose MD5 of the source is the tag need not be sent again.
    func adoptable(beside own: [S3Part], _ plan: PartPlan) -> [S3ListedPart] {
        let known = Set(own.map(\.number))
        return parts.values
            .filter { !known.contains($0.number) && isListed($0.number, etag: $0.etag, plan) }
            .sorted { $0.number < $1.number }
    }

    private func isListed(_ number: Int, etag: String, _ plan: PartPlan) -> Bool {
        guard let part = parts[number], let range = plan.range(of: number) else { return false }
        return part.size == Int64(range.count) && part.etag.lowercased() == etag.lowercased()
    }
}

/// One page of ListParts.
struct S3PartPage: Sendable, Equatable {
    var parts: [S3ListedPart] = []
    /// The number after which the next page begins; nil on the last page.
    var next: Int?
    /// When the bucket's lifecycle deletes the upload.
    var abortDate: Timestamp?

    /// - Returns: an error where the page says that more follows and does not say where: otherwise a cut list
    ///   would pass for a whole one.
    static func read(_ record: XMLRecord, abortDate: Timestamp?) -> Result<S3PartPage, S3ListError> {
        var page = S3PartPage(abortDate: abortDate)
        for item in record.items {
            guard let number = XMLRecord.word(item["PartNumber"]).flatMap(Int.init),
                (1...PartPlan.maxParts).contains(number),
                let size = XMLRecord.word(item["Size"]).flatMap(Int64.init), size >= 0,
                let etag = XMLRecord.word(item["ETag"]).flatMap(S3Tag.text)
            else { return .failure(S3ListError("with a <Part> that lacks its number, its size or its tag")) }
            page.parts.append(S3ListedPart(number: number, size: size, etag: etag))
        }
        guard record.word("IsTruncated")?.lowercased() == "true" else { return .success(page) }
        guard let next = record.word("NextPartNumberMarker").flatMap(Int.init), (1...PartPlan.maxParts).contains(next)
        else { return .failure(S3ListError("with <IsTruncated> and without a <NextPartNumberMarker>")) }
        page.next = next
        return .success(page)
    }
}

/// A part as ListParts reports it.
struct S3ListedPart: Sendable, Equatable {
    var number: Int
    var size: Int64
    /// Without quotes.
    var etag: String
}

/// Why a list of an endpoint cannot be used.
struct S3ListError: Error, Sendable, Equatable, CustomStringConvertible {
    var message: String

    init(_ message: String) { self.message = message }

    var description: String { message }
}

/// One page of ListMultipartUploads.
struct S3UploadPage: Sendable, Equatable {
    struct Upload: Sendable, Equatable {
        var key: String
        var id: String
        var initiated: Timestamp?
    }

    /// Where the next page begins.
    struct Marker: Sendable, Equatable {
        var key: String
        var id: String
    }

    var uploads: [Upload]
    /// Nil on the last page, and where the endpoint does not say where the next one begins.
    var next: Marker?

    init(_ record: XMLRecord) {
        uploads = record.items.compactMap { item in
            guard let key = item["Key"], let id = XMLRecord.word(item["UploadId"]), S3Checkpoint.isUploadID(id) else {
                return nil
            }
            let initiated = XMLRecord.word(item["Initiated"]).flatMap { Timestamp(rfc3339: $0) }
            return Upload(key: key, id: id, initiated: initiated)
        }
        if record.word("IsTruncated")?.lowercased() == "true", let key = record.fields["NextKeyMarker"], !key.isEmpty {
            next = Marker(key: key, id: record.word("NextUploadIdMarker") ?? "")
        }
    }

    /// The uploads that a lost answer to CreateMultipartUpload has left, newest first. Only a key with the
    /// command's id in it says that they are this command's: another client may upload to any other key.
    func ours(key: String, command: String) -> [Upload] {
        guard !command.isEmpty, key.contains(command) else { return [] }
        return uploads.filter { $0.key.hasSameBytes(as: key) }
            .sorted { ($0.initiated ?? .zero, $0.id) > ($1.initiated ?? .zero, $1.id) }
    }
}
