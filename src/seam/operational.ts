/** `@Operational`: routes for those who operate an application, such as probes and scrapes. */
import { createDecorator } from './custom-decorator.js'

/**
 * Marks routes that are asked by machines beside the application's users: limits do not count them, nothing of the
 * framework's modules keeps or packs their answers, and documents list them last. `health` and `metrics` have it.
 */
export const Operational = createDecorator('Operational', () => ({}))
