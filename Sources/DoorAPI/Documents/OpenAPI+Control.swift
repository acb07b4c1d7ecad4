extension OpenAPIDocument {
    static let controlPaths = """
          /commands/{id}/cancel:
            post:
              operationId: cancelCommand
              tags: [control]
              summary: Cancel a command
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/id'}, {$ref: '#/components/parameters/ifMatch'}]
              responses:
                '200': {$ref: '#/components/responses/Command'}
                '202': {$ref: '#/components/responses/Command'}
                default: {$ref: '#/components/responses/Problem'}
          /commands/{id}/retry:
            post:
              operationId: retryCommand
              tags: [control]
              summary: Run a command again that failed, was cancelled or was given up
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/id'}, {$ref: '#/components/parameters/ifMatch'}]
              responses:
                '200': {$ref: '#/components/responses/Command'}
                default: {$ref: '#/components/responses/Problem'}
          /commands/{id}/resolve:
            post:
              operationId: resolveCommand
              tags: [control]
              summary: Settle a command that is in doubt
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/id'}, {$ref: '#/components/parameters/ifMatch'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema:
                      type: object
                      required: [as]
                      additionalProperties: false
                      properties: {as: {$ref: '#/components/schemas/Settlement'}}
                    example: {as: retry}
              responses:
                '200': {$ref: '#/components/responses/Command'}
                default: {$ref: '#/components/responses/Problem'}
          /commands/{id}/requalify:
            post:
              operationId: requalifyCommand
              tags: [control]
              summary: Change the quality of service of a command
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/id'}, {$ref: '#/components/parameters/ifMatch'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema:
                      type: object
                      required: [qos]
                      additionalProperties: false
                      properties: {qos: {$ref: '#/components/schemas/QualityOfService'}}
                    example: {qos: background}
              responses:
                '200': {$ref: '#/components/responses/Command'}
                default: {$ref: '#/components/responses/Problem'}
          /commands/actions:
            post:
              operationId: startAction
              tags: [control]
              summary: Change all commands that a filter admits
              description: >-
                The action runs in the background, on the commands that were submitted before it. Those whose status does
                not allow the change are skipped. A filter without fields needs `all`.
              security: [{token: [control]}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/NewAction'}
                    example: {verb: retry, filter: {status: tooManyTimes, reason: timed out}}
              responses:
                '202':
                  description: The action runs
                  content: {application/json: {schema: {$ref: '#/components/schemas/Action'}}}
                default: {$ref: '#/components/responses/Problem'}
          /actions:
            get:
              operationId: listActions
              tags: [control]
              summary: The bulk actions since the start of the server, the newest first
              security: [{token: [control, read]}]
              responses:
                '200':
                  description: The actions
                  content:
                    application/json:
                      schema:
                        type: object
                        required: [actions]
                        properties: {actions: {type: array, items: {$ref: '#/components/schemas/Action'}}}
                default: {$ref: '#/components/responses/Problem'}
          /actions/{id}:
            get:
              operationId: showAction
              tags: [control]
              summary: The progress of a bulk action
              security: [{token: [control, read]}]
              parameters: [{$ref: '#/components/parameters/id'}]
              responses:
                '200':
                  description: The action
                  content: {application/json: {schema: {$ref: '#/components/schemas/Action'}}}
                default: {$ref: '#/components/responses/Problem'}
            delete:
              operationId: cancelAction
              tags: [control]
              summary: End a bulk action; what it has changed stays changed
              security: [{token: [control]}]
              parameters: [{$ref: '#/components/parameters/id'}]
              responses:
                '204': {description: It ends before its next commands}
                default: {$ref: '#/components/responses/Problem'}
          /pause:
            post:
              operationId: pause
              tags: [control]
              summary: Let nothing new begin of a quality of service or destination, or with all of anything
              security: [{token: [control]}]
              requestBody: {$ref: '#/components/requestBodies/Pause'}
              responses:
                '200': {$ref: '#/components/responses/Pauses'}
                default: {$ref: '#/components/responses/Problem'}
          /resume:
            post:
              operationId: resume
              tags: [control]
              summary: Lift the pause with the same members, without members that of everything; with all, every pause
              security: [{token: [control]}]
              requestBody: {$ref: '#/components/requestBodies/Pause'}
              responses:
                '200': {$ref: '#/components/responses/Pauses'}
                default: {$ref: '#/components/responses/Problem'}
        """
}
