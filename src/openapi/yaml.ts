/** The document as YAML, by openapi3-ts: loaded when YAML is asked for, which is seldom. */
import type { OpenAPIObject } from 'openapi3-ts/oas31'

export async function toYaml(document: OpenAPIObject): Promise<string> {
  const { OpenApiBuilder } = await import('openapi3-ts/oas31')
  // Without anchors: the samples of a class may be one object that stands in several places.
  return OpenApiBuilder.create(document).getSpecAsYaml(undefined, { aliasDuplicateObjects: false })
}
