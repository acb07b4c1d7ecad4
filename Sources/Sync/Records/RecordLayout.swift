internal import Commands
internal import Transfers

/// Which values of a record the sync reads: the key, the version and the flag of deletion. Pure.
struct RecordLayout: Sendable {
    let key: [JSONPointer]
    let version: JSONPointer?
    let deleted: JSONPointer?
    /// The cursor of the next page, of which only that of the last record counts.
    var cursor: JSONPointer?

    /// The pointers of ``ScanPlan/fields``.
    var fields: [JSONPointer] { key + [version, deleted, cursor].compactMap(\.self) }

    /// The value at ``cursor``.
    func cursor(of element: ScannedElement) -> EnvelopeValue {
        guard cursor != nil, let text = element.field(fields.count - 1) else { return .missing }
        return EnvelopeValue(text)
    }

    /// A record that can be staged.
    struct Facts: Sendable, Equatable {
        var key: RecordKey
        var version: RecordVersion?
        /// The record says of itself that it is deleted.
        var isTombstone = false
    }

    /// The parts of an element that the sync uses.
    enum Reading: Sendable, Equatable {
        case record(Facts)
        /// Listed in the result. A key that is known keeps its row from being deleted as missing.
        case reject(key: RecordKey?, RecordProblem)
        /// No record of this list can be ordered: the sync ends with this reason.
        case refusal(String)
    }

    /// Reads an element of the list of records, or of the list of deleted keys: a key by itself, or an object
    /// that has the key at the same pointers.
    func read(_ element: ScannedElement) -> Reading {
        let isObject = element.bytes.first == UInt8(ascii: "{")
        let isScalar = !isObject && element.bytes.first != UInt8(ascii: "[")
        let isKeyItself = key.count == 1 && (key[0].isRoot || element.list == .deletedItems && isScalar)
        if let problem = element.problem { return .reject(key: soundKey(element, isKeyItself), problem) }
        guard isKeyItself || isObject else {
            return .reject(key: nil, .notAnObject(element.bytes.first?.kindOfJSONValue ?? "nothing"))
        }
        let recordKey: RecordKey
        do throws(RecordKey.PartProblem) {
            recordKey = try self.recordKey(element, isKeyItself)
        } catch {
            return .reject(key: nil, .key(field: key[error.part].description, error.problem))
        }
        guard element.list == .items else { return .record(Facts(key: recordKey, isTombstone: true)) }
        var facts = Facts(key: recordKey)
        if let deleted {
            let value = element.field(key.count + (version == nil ? 0 : 1))
            switch value?.first {
            case UInt8(ascii: "t"): facts.isTombstone = true
            case nil, UInt8(ascii: "f"), UInt8(ascii: "n"): break
            default:
                let kind = value?.first?.kindOfJSONValue ?? "nothing"
                return .reject(key: recordKey, .deletedFlag(field: deleted.description, kind))
            }
        }
        if let version {
            do throws(RecordVersion.Unordered) {
                facts.version = try RecordVersion.read(element.field(key.count))
            } catch {
                return .refusal(
                    "the version at \(version) of record \(element.index) is \(error.found); it must be a number or an "
                        + "RFC 3339 date; correct “version”, or choose “merge” remote or local")
            }
        }
        return .record(facts)
    }

    /// The key of a record with a problem elsewhere; nil where the key itself is not certain.
    private func soundKey(_ element: ScannedElement, _ isKeyItself: Bool) -> RecordKey? {
        guard !isKeyItself, !element.bytes.isEmpty else { return nil }
        let values = key.indices.map(element.field)
        var reader = RecordReader()
        guard values.allSatisfy({ $0.map { reader.readWhole($0) == nil } ?? false }) else { return nil }
        return try? RecordKey(values)
    }

    private func recordKey(_ element: ScannedElement, _ isKeyItself: Bool) throws(RecordKey.PartProblem) -> RecordKey {
        if isKeyItself { return try RecordKey([element.bytes.isEmpty ? nil : element.bytes]) }
        return try RecordKey(key.indices.map(element.field))
    }
}
