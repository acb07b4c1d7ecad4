package import HTTPTypes

/// The fields of every response.
package enum StandardFields {
    /// Adds the date, the id of the request, and the fields that keep browsers from guessing types, from telling other
    /// sites the address, and from storing a response. A response may have set the latter two itself.
    /// - Parameters:
    ///   - id: of the request.
    ///   - seconds: the wall clock, from 1970-01-01 on.
    package static func add(to fields: inout HTTPFields, id: String, seconds: Int64) {
        fields[.date] = DoorDate.text(seconds: seconds)
        fields[.xRequestID] = id
        fields[.xContentTypeOptions] = "nosniff"
        if !fields.contains(.referrerPolicy) { fields[.referrerPolicy] = "same-origin" }
        if !fields.contains(.cacheControl) { fields[.cacheControl] = "no-store" }
    }
}
