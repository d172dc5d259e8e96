/** `content`: what a tool answers where JSON is not enough, such as a picture. */
import { reply, type Reply } from '../../index.js'
import { blocksMedia } from './tool-results.js'

/** A block of a tool's answer, as the protocol writes it. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'resource'; readonly resource: Readonly<Record<string, unknown>> }
  | { readonly type: 'resource_link'; readonly uri: string; readonly name: string }

/** Answers with several blocks: `content([{ type: 'text', text: 'A chart' }, { type: 'image', data, mimeType: 'image/png' }])`. */
export function content(blocks: readonly ContentBlock[]): Reply<readonly ContentBlock[]> {
  return reply(blocks).type(blocksMedia)
}
