/** `schemaOf`: the JSON Schema of a class by itself, for what is said of it in another protocol. */
import type { SchemaObject } from 'openapi3-ts/oas31'
import type { Class } from '../metadata/class-metadata.js'
import { withOwnDefinitions } from './own-definitions.js'
import { createSchemas } from './schemas.js'

/** What clients may send for a class, closed; classes within it are its `$defs`. JSON Schema 2020-12. */
export function schemaOf(type: Class): SchemaObject {
  const schemas = createSchemas()
  const whole = schemas.of({ type, list: false }, 'input')
  return withOwnDefinitions(whole, Object.fromEntries(schemas.components))
}
