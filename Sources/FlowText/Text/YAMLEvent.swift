/// A step of a YAML text, as its parser reports it.
struct YAMLEvent {
    enum Kind {
        case streamEnd
        case documentStart
        case documentEnd
        /// - Parameter isPlain: whether the scalar stands without quotes and tag, so that its text decides its type.
        case scalar(String, isPlain: Bool)
        case sequence
        case mapping
        /// The end of a sequence or mapping.
        case end
        /// The value of an anchor, by its name.
        case alias(String)
        /// A step without a meaning for the value.
        case other
    }

    var kind: Kind
    /// The name before the value, as in `&name`; nil without one.
    var anchor: String?
    /// The tag before the value in its long form; nil without one.
    var tag: String?
    var position: SourcePosition
}
