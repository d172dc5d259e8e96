/** The request body of a route: from its class, otherwise from its sample, and the files it accepts. */
import type { MediaTypeObject, RequestBodyObject, SchemaObject } from 'openapi3-ts/oas31'
import { isMap } from '../core/json.js'
import { jsonMedia, textMedia, uploadMedia } from '../http/bodies/body-plan.js'
import { bodyTypeOf } from '../http/bodies/body-types.js'
import type { ShapeField } from '../fields/shape.js'
import type { Class } from '../metadata/class-metadata.js'
import { bodyMedia, takesUploads } from './body-media.js'
import type { DocNote } from './doc.js'
import type { DocumentedRoute } from './documented-route.js'
import { inForm } from './field-schema.js'
import type { Schema } from './merge-schemas.js'
import { inferSchema } from './infer-schema.js'
import { toPlainJson } from './plain-json.js'
import { classSchema, inputView, visibleFields, type Schemas } from './schemas.js'

/** @returns `undefined` if the route reads no body */
export function requestBody(
  documented: DocumentedRoute,
  note: DocNote,
  schemas: Schemas,
): RequestBodyObject | undefined {
  const media = bodyMedia(documented, note)
  if (media.length === 0) return undefined
  const required = documented.classes.body !== undefined || takesUploads(documented)
  const content = Object.fromEntries(
    media.map((one) => [one, mediaObject(one, documented, note, schemas)]),
  )
  return { ...(required ? { required } : {}), content }
}

function mediaObject(
  media: string,
  documented: DocumentedRoute,
  note: DocNote,
  schemas: Schemas,
): MediaTypeObject {
  const { classes, route, unknownKeys } = documented
  const example = toPlainJson(note.example)
  const sample: MediaTypeObject = example === undefined ? {} : { example }
  if (takesUploads(documented) || (media === uploadMedia && note.files.size > 0)) {
    return { schema: uploadSchema(documented, note, schemas), ...sample }
  }
  if (classes.body !== undefined) {
    const schema = schemas.of(classes.body, inputView(unknownKeys), route.options.groups)
    if (media === jsonMedia) return { schema, ...sample }
    // Forms have the same fields as text.
    return { schema: formSchema(classes.body.type, documented, schemas) ?? schema }
  }
  if (example !== undefined && media === (typeof example === 'string' ? textMedia : jsonMedia)) {
    return { schema: inferSchema(example), ...sample }
  }
  // Nothing is declared and nothing refused: the handler gets the body as parsed.
  return { schema: { ...bodyTypeOf.get(media)?.schema } }
}

/** The body as a form, where that is written in another way than JSON. */
function formSchema(
  type: Class,
  { unknownKeys, route }: DocumentedRoute,
  schemas: Schemas,
): Schema | undefined {
  const view = inputView(unknownKeys)
  const { groups } = route.options
  return schemas.form(type, view, groups, () => {
    const refer = (nested: Class): Schema => schemas.of({ type: nested, list: false }, view, groups)
    const whole = classSchema(type, view, refer, groups)
    const form = toForm(whole, visibleFields(type, view, groups))
    const names = Object.keys(whole.properties ?? {})
    const isSame = names.every((name) => form.properties?.[name] === whole.properties?.[name])
    return isSame ? undefined : form
  })
}

function toForm(whole: SchemaObject, fields: readonly ShapeField[]): SchemaObject {
  const properties = { ...whole.properties }
  for (const field of fields) {
    const schema = properties[field.name]
    if (schema !== undefined) properties[field.name] = inForm(field, schema)
  }
  return { ...whole, properties }
}

/** The fields of the body's class and the files; if no file is named, any part may be one. */
function uploadSchema({ classes }: DocumentedRoute, note: DocNote, schemas: Schemas): SchemaObject {
  const fields = fieldsBeside(classes.body?.type, note.example, schemas)
  const files: [string, Schema][] = [...note.files].map(([name, description]) => [
    name,
    { ...file, ...(description === undefined ? {} : { description }) },
  ])
  const properties = { ...fields.properties, ...Object.fromEntries(files) }
  return {
    ...fields,
    type: 'object',
    properties,
    // A file may have any name; the handler takes those that it knows.
    ...(files.length === 0 || classes.body !== undefined ? { additionalProperties: file } : {}),
  }
}

const file: SchemaObject = { type: 'string', format: 'binary' }

function fieldsBeside(type: Class | undefined, example: unknown, schemas: Schemas): SchemaObject {
  if (type !== undefined) {
    const whole = classSchema(type, 'looseInput', (nested) =>
      schemas.of({ type: nested, list: false }, 'input'),
    )
    return toForm(whole, visibleFields(type, 'looseInput'))
  }
  const sample = toPlainJson(example)
  return isMap(sample) ? inferSchema(sample) : {}
}
