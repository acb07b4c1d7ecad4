internal import Commands
internal import Console

/// The result of a sync in words.
struct SyncSummary {
    private let result: JSONValue
    private let collection: String

    init(_ result: JSONValue, _ collection: String) {
        self.result = result
        self.collection = collection
    }

    private func number(_ name: String) -> Int64 { result[name]?.integer ?? 0 }

    /// `quotes is at revision 3: 1,000 records read, 2 inserted, 1 updated, 997 unchanged, 0 deleted`
    var line: String {
        let start = "\(collection) is at revision \(number("rev")): "
        guard result["notModified"]?.bool != true else { return start + "the list has not changed" }
        let counts = ["inserted", "updated", "unchanged", "deleted"].map { "\(Figures.grouped(number($0))) \($0)" }
        let records = number("records")
        let partial = result["partial"] == nil ? "" : " (partial)"
        return start + "\(Figures.grouped(records)) \(records == 1 ? "record" : "records") read\(partial), "
            + counts.joined(separator: ", ")
    }

    /// Facts beside the counts.
    var remarks: [String] {
        var remarks: [String] = []
        let rejected = number("rejected")
        if rejected > 0 {
            let first = result["rejects"]?.elements?.first
            let example = first.map {
                "; the first, record \($0["index"]?.integer ?? 0) of page \($0["page"]?.integer ?? 0): "
                    + ($0["reason"]?.string ?? "")
            }
            remarks.append(
                "\(Figures.grouped(rejected)) \(rejected == 1 ? "record was" : "records were") left out\(example ?? "")"
            )
        }
        if let partial = result["partial"]?.string {
            remarks.append("this may not be the whole list, so nothing was deleted as missing: \(partial)")
        } else if let retained = result["retained"]?.string {
            remarks.append(retained)
        }
        return remarks
    }
}
