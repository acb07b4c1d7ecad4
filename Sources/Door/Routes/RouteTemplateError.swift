/// Why a text of a route is not a template.
struct RouteTemplateError: Error, Sendable, Equatable {
    /// A JSON Pointer below the value that was read: `/headers/X-Name`. Empty for the value itself.
    var pointer = ""
    /// A sentence without a full stop at its end.
    var problem: String
}
