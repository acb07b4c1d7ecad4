internal import Commands

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
