/** 128 random bits as text. (`crypto.randomUUID` is not there on pages that came by plain HTTP.) */
export function uniqueText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
