package import HTTPTypes

/// The fields of every response.
package enum StandardFields {
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
