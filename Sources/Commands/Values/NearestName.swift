/// Finds the name that was probably meant.
package enum NearestName {
    /// The name that differs in the fewest bytes, where these are at most two and fewer than the name
    /// has; the first of several such names.
    package static func find(_ name: String, among names: some Sequence<String>) -> String? {
        let bytes = Array(name.utf8.prefix(256))
        var best: (name: String, distance: Int)?
        for other in names where abs(other.utf8.count - bytes.count) <= 2 {
            let distance = distance(bytes, Array(other.utf8))
            if distance < min(3, bytes.count), distance < best?.distance ?? 3 { best = (other, distance) }
        }
        return best?.name
    }

    /// The words `; is it “name”?`, or none where no name is near.
    package static func suggestion(for name: String, among names: some Sequence<String>) -> String {
        find(name, among: names).map { "; is it “\($0)”?" } ?? ""
    }

    /// Levenshtein's distance.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (index, byte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in right.enumerated() {
                let above = row[column + 1]
                row[column + 1] = min(above + 1, row[column] + 1, diagonal + (byte == other ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}
