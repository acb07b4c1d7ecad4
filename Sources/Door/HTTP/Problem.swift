package import Commands
package import HTTPTypes

/// An error response: a problem document (RFC 9457).
package struct Problem: Error, Sendable, Equatable {
    package var status: HTTPResponse.Status
    /// The last part of the URL of its type, such as `offset-mismatch`. The door serves a page of each.
    package var type: String
    /// A sentence or two: the event, its object, and the remedy.
    package var detail: String
    /// Fields of the response in addition to those of every problem.
    package var fields: HTTPFields
    /// Further members of the document.
    package var members: [JSONValue.Member]

    package init(
        _ status: HTTPResponse.Status, _ type: String, _ detail: String, fields: HTTPFields = [:],
        members: [JSONValue.Member] = []
    ) {
        self.status = status
        self.type = type
        self.detail = detail
        self.fields = fields
        self.members = members
    }
}
