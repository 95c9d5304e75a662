export function fillOnce(
  folder: string,
  fill: (unfinished: string) => Promise<void>,
  log: (line: string) => void,
): Promise<string>
