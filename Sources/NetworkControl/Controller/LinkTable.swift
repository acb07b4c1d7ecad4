/// The links by their keys, each in a box of its own: a controller takes 1.7 kB, and a dictionary of them holds as much
/// again in empty places, twice while it grows. A copy of the table shares the boxes until one of them changes.
package struct LinkTable: Sendable {
    private final class Box: @unchecked Sendable {
        // Unchecked: the table changes a link only where no other table refers to its box.
        var link: LinkController?

        init(_ link: LinkController?) { self.link = link }
    }

    private var boxes: [LinkKey: Box] = [:]

    /// A copy: a view would share the boxes while the links are changed one by one, and each would be copied.
    package var keys: [LinkKey] { Array(boxes.keys) }
    package var count: Int { boxes.count }
    package var isEmpty: Bool { boxes.isEmpty }

    package subscript(key: LinkKey) -> LinkController? {
        _read {
            if let box = boxes[key] { yield box.link } else { yield nil }
        }
        _modify {
            guard let index = boxes.index(forKey: key) else {
                var link: LinkController?
                yield &link
                if let link { boxes[key] = Box(link) }
                return
            }
            if !isKnownUniquelyReferenced(&boxes.values[index]) { boxes.values[index] = Box(boxes.values[index].link) }
            let box = boxes.values[index]
            defer { if box.link == nil { boxes[key] = nil } }
            yield &box.link
        }
    }

    func containsKey(where isMeant: (LinkKey) -> Bool) -> Bool { boxes.keys.contains(where: isMeant) }

    /// Takes a link out, to be set again when it has changed.
    mutating func removeValue(forKey key: LinkKey) -> LinkController? { boxes.removeValue(forKey: key)?.link }
}
