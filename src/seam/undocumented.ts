/** `@Undocumented`: routes that belong to a page, not to the application's public API. */
import { createDecorator } from './custom-decorator.js'

/**
 * Marks routes that only a package's own page calls. The OpenAPI document leaves them out. The admin page has it.
 */
export const Undocumented = createDecorator('Undocumented', () => ({}))
