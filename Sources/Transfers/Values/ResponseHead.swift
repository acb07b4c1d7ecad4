/// The head of a response, as the rules of the cache read it.
package struct ResponseHead: Sendable, Equatable {
    /// 100…999.
    package var status: Int
    package var headers: HeaderFields

    package init(status: Int, headers: HeaderFields) {
        self.status = status
        self.headers = headers
    }

    package init(_ status: Int, _ headers: [(name: String, value: String)] = []) {
        self.init(status: status, headers: HeaderFields(headers))
    }
}

/// The stored responses that a request may make stale.
package protocol ResponseInvalidation: Sendable {
    /// A request of this method has succeeded: the stored responses that it concerns are asked for again (RFC
    /// 9111, section 4.4).
    func invalidate(method: String, _ url: ResourceURL, _ response: ResponseHead) async
}
