/// Appends compact JSON (RFC 8259) to a buffer of bytes. It writes events, each of which may cost a
/// microsecond.
///
/// The writer sets commas and colons. It does not check that each name has a value, that names are unique, or
/// that each bracket is closed.
public struct JSONWriter: Sendable {
    /// The text so far, in UTF-8.
    public private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// Makes a writer with an empty buffer.
    /// - Parameter capacity: bytes for which memory is reserved. The default is 256.
    public init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    /// Empties the buffer and keeps its memory.
    public mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    /// Appends text as it is, outside the JSON: a topic before an event.
    package mutating func raw(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }
    package mutating func raw(_ id: CommandID) { append(id) }

    /// Opens an object: as an element, or as the value of the name that was written last.
    public mutating func beginObject() { open("{") }
    /// Closes the object that was opened last.
    public mutating func endObject() { close("}") }
    /// Opens an array: as an element, or as the value of the name that was written last.
    public mutating func beginArray() { open("[") }
    /// Closes the array that was opened last.
    public mutating func endArray() { close("]") }

    /// Writes the name of a member; its value is the next call.
    /// - Parameter name: ASCII without quotes, backslashes and control characters. It is not checked.
    public mutating func name(_ name: StaticString) {
        let comma = needsComma
        bytes.append(addingCapacity: name.utf8CodeUnitCount + 4) { bytes in
            if comma { bytes.append(UInt8(ascii: ",")) }
            bytes.append(UInt8(ascii: "\""))
            for index in 0..<name.utf8CodeUnitCount { bytes.append(name.utf8Start[index]) }
            bytes.append(UInt8(ascii: "\""))
            bytes.append(UInt8(ascii: ":"))
        }
        needsComma = false
    }

    /// Writes a member with a string. The name is as in ``name(_:)``.
    public mutating func member(_ name: StaticString, _ value: String) {
        self.name(name)
        self.value(value)
    }

    /// Writes a member with a string, or with `null` for nil.
    public mutating func member(_ name: StaticString, _ value: String?) {
        self.name(name)
        if let value { self.value(value) } else { null() }
    }

    /// Writes a member with an integer.
    public mutating func member(_ name: StaticString, _ value: Int64) {
        self.name(name)
        self.value(value)
    }

    /// Writes a member with an integer.
    public mutating func member(_ name: StaticString, _ value: Int) { member(name, Int64(value)) }

    /// Writes a member with `true` or `false`.
    public mutating func member(_ name: StaticString, _ value: Bool) {
        self.name(name)
        self.value(value)
    }

    /// Writes a member with an id as a string of 36 characters, in lower case.
    public mutating func member(_ name: StaticString, _ value: CommandID) {
        self.name(name)
        quote { $0.append(value) }
    }

    /// Writes a member with a time as a string: RFC 3339 in UTC, with milliseconds.
    public mutating func member(_ name: StaticString, _ value: Timestamp) {
        self.name(name)
        quote { writer in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 24) {
                _ = value.write(into: $0)
                writer.bytes.append(contentsOf: $0)
            }
        }
    }

    /// Writes a member with a value of any kind. A number that is not finite becomes `null`.
    public mutating func member(_ name: StaticString, _ value: JSONValue) {
        self.name(name)
        self.value(value)
    }

    /// Writes `null`.
    public mutating func null() {
        separate()
        raw("null" as StaticString)
        needsComma = true
    }

    /// Writes `true` or `false`.
    public mutating func value(_ value: Bool) {
        separate()
        raw(value ? "true" as StaticString : "false")
        needsComma = true
    }

    /// Writes an integer in decimal.
    public mutating func value(_ value: Int64) {
        separate()
        // The longest number has 19 digits and a sign.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var rest = value.magnitude
            var start = digits.count
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if value < 0 {
                start -= 1
                digits[start] = UInt8(ascii: "-")
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
        needsComma = true
    }

    /// Writes a string. Quotes, backslashes and control characters are escaped (RFC 8259, section 7); all
    /// other characters stay as they are.
    public mutating func value(_ value: String) {
        quote { $0.escape(value) }
    }

    /// Writes a value of any kind. A number that is not finite becomes `null`.
    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let value): self.value(value)
        case .integer(let value): self.value(value)
        case .number(let value):
            separate()
            raw(value.isFinite ? "\(value)" : "null")
            needsComma = true
        case .decimal(let text): json(text.utf8)
        case .string(let value): self.value(value)
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let members):
            beginObject()
            for member in members {
                self.value(member.name)
                bytes.append(UInt8(ascii: ":"))
                needsComma = false
                self.value(member.value)
            }
            endObject()
        }
    }

    /// Appends JSON text as it is: a stored payload, for example.
    package mutating func json(_ text: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: text)
        needsComma = true
    }

    private mutating func separate() { if needsComma { bytes.append(UInt8(ascii: ",")) } }

    private mutating func open(_ bracket: StaticString) {
        separate()
        raw(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: StaticString) {
        raw(bracket)
        needsComma = true
    }

    private mutating func quote(_ write: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        write(&self)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    private mutating func append(_ id: CommandID) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 36) {
            id.write(into: $0)
            bytes.append(contentsOf: $0)
        }
    }

    private mutating func escape(_ text: String) {
        let isPlain = text.utf8.withContiguousStorageIfAvailable { utf8 in
            guard utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) else {
                return false
            }
            bytes.append(contentsOf: utf8)
            return true
        }
        if isPlain == true { return }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0x0A: raw("\\n" as StaticString)
            case 0x0D: raw("\\r" as StaticString)
            case 0x09: raw("\\t" as StaticString)
            case 0..<0x20:
                raw("\\u00" as StaticString)
                bytes.append(UInt8(ascii: "0") + byte >> 4)
                bytes.append(byte & 15 < 10 ? UInt8(ascii: "0") + byte & 15 : UInt8(ascii: "a") + byte & 15 - 10)
            default: bytes.append(byte)
            }
        }
    }
}

extension JSONValue {
    /// The compact text in UTF-8, without white space. A number that is not finite becomes `null`.
    public var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }

    /// The text of ``bytes`` as a string.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}
