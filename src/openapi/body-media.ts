/**
 * The media types of a route's bodies: the document lists them, and the server refuses all others.
 * Source: decisions, Requests.
 */
import { otherMedia, uploadMedia } from '../http/bodies/body-plan.js'
import { anyMedia, bodyTypes } from '../http/bodies/body-types.js'
import type { DocNote } from './doc.js'
import type { DocumentedRoute } from './documented-route.js'

/** @returns an empty list if the route reads no body */
export function bodyMedia(
  { route, classes }: Pick<DocumentedRoute, 'route' | 'classes'>,
  { example }: Pick<DocNote, 'example'>,
): readonly string[] {
  const names = route.argumentNames
  if (route.method === 'GET') return []
  if (takesUploads({ route, classes })) return [uploadMedia]
  // The exact bytes of a form with files are not kept.
  const keepsBytes = names.includes('rawBody')
  if (classes.body !== undefined) {
    const { list } = classes.body
    const fitting = bodyTypes.filter(
      ({ takes, read }) =>
        (list ? takes === 'fields and lists' : takes !== undefined) &&
        !(keepsBytes && read === undefined),
    )
    return fitting.map(({ media }) => media)
  }
  if (keepsBytes) return [otherMedia]
  // An example shows a body and decides nothing about it.
  const reads = names.includes('body') || names.includes('request') || example !== undefined
  return reads ? anyMedia : []
}

/** True if only multipart will do: another body brings no files. With an undeclared body beside them, they may be missing. */
export function takesUploads({
  route,
  classes,
}: Pick<DocumentedRoute, 'route' | 'classes'>): boolean {
  const names = route.argumentNames
  if (route.method === 'GET') return false
  return names.includes('files') && (classes.body !== undefined || !names.includes('body'))
}
