/** Writes the document as YAML with openapi3-ts, which is only loaded for it. */
import type { OpenAPIObject } from 'openapi3-ts/oas31'

export async function toYaml(document: OpenAPIObject): Promise<string> {
  const { OpenApiBuilder } = await import('openapi3-ts/oas31')
  // Without anchors: one object may occur in several places, e.g. the sample of a class.
  return OpenApiBuilder.create(document).getSpecAsYaml(undefined, { aliasDuplicateObjects: false })
}
