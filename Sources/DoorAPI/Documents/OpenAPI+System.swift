extension OpenAPIDocument {
    static let systemPaths = """
          /counts:
            get:
              operationId: showCounts
              tags: [system]
              summary: The number of commands in each status
              security: [{token: [read]}]
              responses:
                '200':
                  description: The counts
                  content:
                    application/json:
                      schema:
                        type: object
                        required: [counts, byQos]
                        properties:
                          counts: {$ref: '#/components/schemas/Counts'}
                          byQos: {type: object, additionalProperties: {$ref: '#/components/schemas/Counts'}}
                default: {$ref: '#/components/responses/Problem'}
          /workers:
            get:
              operationId: listWorkers
              tags: [system]
              summary: The workers, by their seats
              security: [{token: [read]}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
          /links:
            get:
              operationId: listLinks
              tags: [system, waits]
              summary: The links, those that matter most first
              security: [{token: [read]}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
          /links/{destination}:
            get:
              operationId: showLink
              tags: [system, waits]
              summary: The links to one destination
              security: [{token: [read]}]
              parameters: [{$ref: '#/components/parameters/destination'}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
            patch:
              operationId: changeLink
              tags: [control]
              summary: Hold a destination offline, or limit its rate
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/destination'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema:
                      type: object
                      additionalProperties: false
                      minProperties: 1
                      properties:
                        level: {enum: [offline, auto]}
                        maxRate: {type: [integer, 'null'], minimum: 1000, maximum: 1000000000000}
                    example: {level: auto, maxRate: 2500000}
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
          /limits:
            get:
              operationId: listLimits
              tags: [system]
              summary: The rate limits
              security: [{token: [read]}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
          /limits/{name}:
            get:
              operationId: showLimit
              tags: [system]
              summary: A rate limit, and the commands that wait longest for it
              security: [{token: [read]}]
              parameters: [{$ref: '#/components/parameters/name'}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
            put:
              operationId: putLimit
              tags: [control]
              summary: Make a rate limit, or replace one
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/name'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema:
                      type: object
                      required: [starts]
                      additionalProperties: false
                      properties:
                        starts: {type: string}
                        burst: {type: [integer, 'null'], minimum: 1}
                        atOnce: {type: [integer, 'null'], minimum: 1}
                    example: {starts: 30/s, burst: 5}
              responses:
                '200': {$ref: '#/components/responses/Object'}
                '201': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
            delete:
              operationId: removeLimit
              tags: [control]
              summary: Remove a rate limit
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/name'}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
          /pauses:
            get:
              operationId: listPauses
              tags: [system]
              summary: The pauses
              security: [{token: [read]}]
              responses:
                '200': {$ref: '#/components/responses/Pauses'}
                default: {$ref: '#/components/responses/Problem'}
          /routes:
            get:
              operationId: listRoutes
              tags: [uploads]
              summary: The routes that uploads of the token may take
              security: [{token: [read, upload]}]
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
          /me:
            get:
              operationId: showToken
              tags: [system]
              summary: The rights of the token
              security: [{token: [control, grant, metrics, read, submit, upload]}]
              responses:
                '200':
                  description: The token
                  content:
                    application/json:
                      schema:
                        type: object
                        required: [token, name, scopes, routes, types, destinations, session]
                        properties:
                          token: {type: string}
                          name: {type: string}
                          scopes: {type: array, items: {type: string}}
                          routes: {type: [array, 'null'], items: {type: string}}
                          types: {type: [array, 'null'], items: {type: string}}
                          destinations: {type: [array, 'null'], items: {type: string}}
                          session: {type: boolean}
                default: {$ref: '#/components/responses/Problem'}
          /events:
            get:
              operationId: streamEvents
              tags: [events]
              summary: Events, as they happen
              description: >-
                Server-sent events. The stream `view` has the newest state of each part, for pages; `log` has every
                transition, from the position of Last-Event-ID on.
              security: [{token: [read]}]
              parameters:
                - {name: stream, in: query, schema: {enum: [view, log], default: view}}
                - name: parts
                  in: query
                  description: The parts of the stream `view`, separated by commas; all of them where it is missing
                  schema: {type: string}
                - {name: id, in: query, description: "Only these in the stream `log`, separated by commas", schema: {type: string}}
                - {name: destination, in: query, description: As id, schema: {type: string}}
                - {name: status, in: query, description: As id, schema: {type: string}}
                - {name: type, in: query, description: As id, schema: {type: string}}
                - {name: qos, in: query, description: As id, schema: {type: string}}
                - name: after
                  in: query
                  description: The id of an event after which the stream `log` goes on; Last-Event-ID comes before it
                  schema: {type: string}
              responses:
                '200':
                  description: A stream without an end
                  content: {text/event-stream: {schema: {type: string}}}
                default: {$ref: '#/components/responses/Problem'}
          /openapi.json:
            get:
              operationId: describe
              tags: [system]
              summary: This document
              security: []
              responses:
                '200': {$ref: '#/components/responses/Object'}
                default: {$ref: '#/components/responses/Problem'}
        """
}
