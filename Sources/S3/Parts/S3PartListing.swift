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
